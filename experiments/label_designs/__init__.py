"""Which way of drawing checks below a threshold says most about recall?"""
